/** What a vertical's worker exposes to the platform and to its own people. Start with the two `mount…` files. */

export type { OpenApiInfo } from './lib/openapi.ts';
export type { PlatformSecret } from './lib/platform-secret.ts';
export * from './mount-operations.ts';
export * from './mount-platform-surface.ts';
export * from './mount-problem-docs.ts';
export * from './platform-surface-deps.ts';
export * from './problem-response.ts';
