// The size of a figure that follows the screen: its plot is `ratio` as high as wide, and at most as high as the window
// less `less` pixels. A figure asks for it in layout.meta.fit; `frame` are about the pixels above and below its axes.

const LOWEST = 300; // pixels of a plot in a low window, where the figure names none
const MARGINS = 80; // pixels left and right of the plots
const NEAR = 2; // pixels that a height may be off

/** The height between the margins in a node of this width, and of the whole; nothing where a figure has its own. */
export function fitted({ fit, strip }, width, own, times) {
  if (!fit || !(width > 0)) return null;
  const across = (width - MARGINS * times) / (fit.across ?? 1);
  const plot = Math.max(fit.lowest ?? LOWEST, Math.min(fit.ratio * across, window.innerHeight - fit.less));
  const [part, between] = strip ?? [0, 0];
  const inner = fit.share ? Math.max(plot / fit.share, fit.least * times) : (plot + between * times) / (1 - part);
  return { inner, height: Math.round(inner + fit.frame * times) };
}

/** Where the plot is above a strip: so many pixels apart, whatever the height between the margins. */
export function above({ fit, strip }, inner, times) {
  return fit && strip ? { "yaxis.domain": [strip[0] + (strip[1] * times) / inner, 1] } : {};
}

/** What mends the height of a figure on screen whose legend took more or less room than expected; or nothing. */
export function mended(node, header, wanted, height) {
  const off = wanted ? wanted.inner - node._fullLayout._size.h : 0;
  if (Math.abs(off) <= NEAR) return null;
  return { height: Math.round(height + off), ...above(header, wanted.inner, header.times) };
}
