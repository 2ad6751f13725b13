export const inside = 'runtime';
