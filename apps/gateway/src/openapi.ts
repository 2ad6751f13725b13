/** The OpenAPI document. */
export function createOpenApiDocument(): Record<string, unknown> {
  return { openapi: '3.1.0' };
}
