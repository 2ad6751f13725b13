export const start = 'projector';
