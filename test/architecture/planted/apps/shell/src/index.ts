export const start = 'shell';
