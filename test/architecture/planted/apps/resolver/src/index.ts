export const start = 'resolver';
