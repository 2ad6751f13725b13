/** How the page looks: as the system does, or as one chose. */
export type Theme = 'system' | 'light' | 'dark';

const key = 'countersign-theme';

/** What was chosen in this browser. */
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
    // Then it holds for this page alone.
  }
}
