// OpenTelemetry as an agent has it: node --import ./telemetry.mjs agent.js. Spans go to OTEL_EXPORTER_OTLP_ENDPOINT.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] }).register();
