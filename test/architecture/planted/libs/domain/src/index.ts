export const inside = 'domain';
