export const suite = 'event-store';
