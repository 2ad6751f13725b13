export { attributesOf, openOtlpCollector } from './testing/otlp-collector.js';
export type { OtlpCollector } from './testing/otlp-collector.js';
export type { ReceivedSpan } from './testing/otlp-protobuf.js';
export { lintMetrics } from './testing/lint-metrics.js';
