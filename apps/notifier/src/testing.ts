export { createRecordingChannel } from './testing/recording-channel.js';
export type { RecordingChannel } from './testing/recording-channel.js';
export { openWorld } from './testing/world.js';
export type { AskChange, NotifyOptions, Running, World } from './testing/world.js';
