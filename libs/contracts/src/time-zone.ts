/** Returns whether a text names a time zone that this process knows. An offset such as `+01:00` knows no daylight saving time. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format(0);
    return /^[A-Za-z]/.test(name);
  } catch {
    return false;
  }
}
