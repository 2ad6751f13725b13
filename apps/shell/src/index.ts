export { BusContext, BusExceptionFilter, BusTransportStrategy } from './bus-transport.strategy.js';
export type { BusTransportOptions } from './bus-transport.strategy.js';
