export const start = 'cli';
