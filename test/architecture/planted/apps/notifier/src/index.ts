export const start = 'notifier';
