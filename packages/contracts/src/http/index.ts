/** The reading of requests and the descriptions of every HTTP surface: zod and Web APIs, without a framework. */
export * from './connect-url.ts';
export * from './input-shape.ts';
export * from './own-address.ts';
export * from './platform-secret.ts';
export * from './problem-pages.ts';
export * from './rate-limiter.ts';
export * from './refusal.ts';
export * from './request.ts';
export * from './sender.ts';
export * from './text-fields.ts';
