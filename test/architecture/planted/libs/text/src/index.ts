export const inside = 'text';
