export const start = 'standalone';
