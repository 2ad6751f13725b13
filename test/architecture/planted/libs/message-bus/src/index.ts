export const inside = 'message-bus';
