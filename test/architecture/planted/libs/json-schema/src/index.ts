export const inside = 'json-schema';
