export { attributesOf, openOtlpCollector } from './testing/otlp-collector.js';
export type { OtlpCollector, ReceivedSpan } from './testing/otlp-collector.js';
export { lintMetrics } from './testing/lint-metrics.js';
