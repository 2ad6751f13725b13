export const inside = 'read-model';
