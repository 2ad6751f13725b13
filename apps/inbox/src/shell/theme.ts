/** The theme: the system's, or the chosen one. */
export type Theme = 'system' | 'light' | 'dark';

const key = 'countersign-theme';

/** The theme that was chosen in this browser. */
export function chosenTheme(): Theme {
  try {
    const value = localStorage.getItem(key);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    // A browser that keeps nothing still shows the inbox.
    return 'system';
  }
}

/** Makes the page look as chosen. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Then the choice is valid for this page only.
  }
}
