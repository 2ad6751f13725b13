export const start = 'relay';
