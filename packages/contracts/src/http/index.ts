/** How every HTTP surface of the platform reads a request and describes itself: zod and Web APIs, and no framework. */
export * from './connect-url.ts';
export * from './input-shape.ts';
export * from './own-address.ts';
export * from './platform-secret.ts';
export * from './refusal.ts';
export * from './request.ts';
export * from './text-fields.ts';
