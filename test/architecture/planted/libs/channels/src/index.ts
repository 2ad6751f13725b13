export const inside = 'channels';
