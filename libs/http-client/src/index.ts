export { linkedController, reasonOf, sleep, systemClock } from './clock.js';
export type { Clock, LinkedController } from './clock.js';
export { followStream } from './follow-stream.js';
export type { FollowOptions } from './follow-stream.js';
export { createHttpClient, NoAnswerError } from './http-client.js';
export type { Answer, HttpClient, HttpClientOptions, HttpRequest, Attempt, RequestHeaders } from './http-client.js';
export { retryAfterMs } from './retry-after.js';
export { createSseParser } from './sse.js';
export type { SseMessage } from './sse.js';
