export const inner = 'text';
