export const inside = 'worker-sdk';
