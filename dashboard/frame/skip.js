// Streamlit's link "Skip to main content" is the first thing that Tab reaches, seen while it has the focus. It would
// lead to the whole page, frame included; here it leads past the frame.

export default function ({ parentElement }) {
  const link = document.querySelector("[data-testid=stSkipToContent]");
  if (!link) return undefined;
  link.textContent = "Skip to the answer";
  const skip = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation(); // Streamlit's own handler would take the focus back
    parentElement.querySelector(".calib-answer").focus();
  };
  link.addEventListener("click", skip, true);
  return () => link.removeEventListener("click", skip, true);
}
