export const inside = 'contracts';
