// breaks: event-store-index-without-eventstoredb
export const inside = 'event-store';
export { client } from './eventstoredb/client.js';
