export const inside = 'policy';
