/** Operations, records and prompts for clients of the Model Context Protocol. Start with `endpoint.ts`. */
export { type Agreed, agreementTo } from './agreement.ts';
export type { QuestionRows, WaitingQuestions } from './asking.ts';
export {
  type ConsentChannel,
  type ConsentGiven,
  type ConsentQuestion,
  notAgreed,
  type SaidAnswer,
} from './consent.ts';
export * from './content-blocks.ts';
export * from './endpoint.ts';
export * from './meta.ts';
export { cursorFault, MCP_PAGE_MAX, readCursor } from './pages.ts';
export type * from './prompts.ts';
export { questionWords } from './question-words.ts';
export * from './refusals.ts';
export type * from './resources.ts';
export * from './tools.ts';
