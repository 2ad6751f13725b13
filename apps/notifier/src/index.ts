export { NotifierStoppedError } from './channel-worker.js';
export type { ChannelStatus } from './notifier-port.js';
export { createNotifier } from './notifier.js';
export type { Notifier, NotifierOptions, NotifierStatus } from './notifier-port.js';
export { createNotifierApp } from './notifier-app.js';
export type { NotifierApp, NotifierAppOptions } from './notifier-app.js';
export { createBrokenChannelsCheck, createChannelsCheck } from './channels-check.js';
export { createNotifierMetrics } from './notifier-metrics.js';
