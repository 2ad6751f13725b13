export const inside = 'event-store';
