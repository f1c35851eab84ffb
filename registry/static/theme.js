// The theme that was chosen, before anything is seen.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Where nothing is kept, the system's theme it is.
  }
})();
