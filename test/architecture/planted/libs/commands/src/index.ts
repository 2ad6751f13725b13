export const inside = 'commands';
