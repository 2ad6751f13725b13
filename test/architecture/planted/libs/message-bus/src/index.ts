// breaks: message-bus-index-without-kafka
export const inside = 'message-bus';
export { client } from './kafka/client.js';
