export const inner = 'event-store';
