"""Distinguishable and legible colors, and texts that stay texts."""

import html
import re

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from hostile import NAMES

from calib_core.figures.look import CELLS, DARK_PAGE, DIVERGING, REFERENCE, figure_template, spaced_percent
from calib_core.palette import COLOURS, ON_DARK, looks, preferred_look, style
from calib_core.text import plain

LIGHT, DARK = "#ffffff", "#171614"


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", [LIGHT, DARK])
def test_every_colour_of_a_model_is_seen_on_both_pages(page: str) -> None:
    assert all(contrast(colour, page) > 3.4 for colour in COLOURS)
    assert contrast(REFERENCE, page) > 3.9


def test_on_the_dark_page_models_have_the_contrast_of_text() -> None:
    assert set(ON_DARK) == set(COLOURS)
    assert all(contrast(colour, DARK) >= 4.5 for colour in ON_DARK.values())
    assert len(set(ON_DARK.values())) == len(COLOURS)
    assert all(contrast(DARK_PAGE.get(colour, colour), DARK) >= 4.5 for colour in (*CELLS, REFERENCE))


@pytest.mark.parametrize("page", [LIGHT, DARK])
def test_no_colour_vanishes(page: str) -> None:
    assert all(contrast(colour, page) > 2.1 for colour in CELLS)
    assert len(set(CELLS)) == 10


def test_styles_do_not_repeat() -> None:
    assert len({style(i) for i in range(168)}) == 168
    for part in ("colour", "symbol", "dash", "glyph"):
        assert len({getattr(style(i), part) for i in range(6)}) == 6


def test_every_symbol_has_a_hollow_form_that_plotly_knows() -> None:
    for i in range(8):
        go.Scatter(marker={"symbol": f"{style(i).symbol}-open"})  # ValueError where there is none


def test_a_model_keeps_its_look_where_its_colour_is_free_and_no_two_look_alike() -> None:
    alone = looks([("base", 0), ("after", 3)])
    among = looks([("base", 0), *((f"m{i}", i) for i in (1, 2, 4, 5, 6)), ("after", 3)])
    assert alone["after"] == among["after"] == 3
    many = looks((f"m{i}", 1) for i in range(30))
    assert len({style(i) for i in many.values()}) == 30
    first = [style(i) for i in [*many.values()][:7]]
    assert len({look.colour for look in first}) == len({look.symbol for look in first}) == 7
    # The first model's color is the first choice of no calibrator.
    assert all(preferred_look(place) % len(COLOURS) for place in range(1, 60))
    assert len({preferred_look(place) for place in range(1, 60)}) == 59


def test_the_diverging_scale_is_light_in_the_middle_and_as_long_on_both_sides() -> None:
    places, colours = zip(*DIVERGING, strict=True)
    assert places == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert [luminance(colour) for colour in colours[:3]] == sorted(luminance(colour) for colour in colours[:3])
    assert [luminance(colour) for colour in colours[2:]] == sorted(
        (luminance(colour) for colour in colours[2:]), reverse=True
    )


@pytest.mark.parametrize(("dark", "name", "page"), [(False, "calib_light", LIGHT), (True, "calib_dark", DARK)])
def test_templates_are_registered_and_readable(dark: bool, name: str, page: str) -> None:
    template = figure_template(dark)
    assert pio.templates[name] == template
    figure = go.Figure(go.Scatter(y=[1])).update_layout(template=template)
    assert figure.layout.template.layout.paper_bgcolor == page
    assert contrast(template.layout.font.color, page) > 7


def test_templates_hold_no_near_black_colour_on_the_dark_page() -> None:
    colours = set(re.findall(r"#[0-9a-fA-F]{6}", repr(figure_template(True).to_plotly_json()))) - {DARK}
    cividis_begin = "#00224e"  # a cell of a heatmap is on other cells, not on the page
    assert [colour for colour in colours - {cividis_begin} if contrast(colour, DARK) < 1.5] == []


@pytest.mark.parametrize("name", NAMES)
def test_plain_text_reads_back_as_it_was(name: str) -> None:
    assert html.unescape(plain(name)) == name
    assert "<" not in plain(name)


def test_controls_become_spaces() -> None:
    assert plain("a\r\n\tb\x00c\u2028d") == "a b c d"


def test_the_legend_begins_at_the_lower_left_corner_of_the_picture() -> None:
    legend = figure_template(False).layout.legend
    assert (legend.x, legend.y, legend.yref, legend.yanchor) == (0, 0, "container", "bottom")


def test_hovers_write_percent_as_money_which_pages_spell_with_a_space() -> None:
    hover = "%{x:.1~%}: %{y:+.2~%} (%{customdata.low:.0%})<br>%{customdata.rows:,} rows, 5% of %{text}<extra></extra>"
    spec = {"data": [{"hovertemplate": hover}, {"hovertemplate": ["%{x:.0%}"]}, {}], "layout": {}}
    spaced_percent(spec)
    spaced_percent(spec)  # a second time changes nothing
    assert spec["data"][0]["hovertemplate"] == (
        "%{x:$.1~%}: %{y:+$.2~%} (%{customdata.low:$.0%})<br>%{customdata.rows:,} rows, 5% of %{text}<extra></extra>"
    )
    assert spec["data"][1:] == [{"hovertemplate": ["%{x:.0%}"]}, {}]
