/** Then the choice is valid for this page only. */
export type Theme = 'system' | 'light' | 'dark';

const key = 'countersign-theme';

/** The event texts of the inbox. The values are shown elsewhere on the page. */
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
    // The channel, and the recipient if it has one copy per recipient.
  }
}
