export const inside = 'audit';
