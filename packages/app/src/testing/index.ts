/** Tests of an application, by its builder: see docs/testing.md. Start with `test-app.ts`. */
export type { Duration, TestClock } from './clock.ts';
export type { Delivered, Ran } from './deliveries.ts';
export type { Http } from './http.ts';
export type { Mcp, TestTool, ToolAnswer } from './mcp.ts';
export type { MemberOptions } from './members.ts';
export type { AnswerFetch, AnswerModel, AskedModel } from './outside.ts';
export type { Attempt, CallOptions, Person, TestFile } from './person.ts';
export { type Incident, type TestInstance, type TestOptions, testApp } from './test-app.ts';
