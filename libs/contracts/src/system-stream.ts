/** What begins the names of all system streams. */
export const systemStreamPrefix = 'system-';
