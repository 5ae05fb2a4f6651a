/** The four wire formats that the shipped rows speak, as a server of the provider would answer. */

export interface Counts {
  readonly input?: number;
  readonly cached?: number;
  readonly output?: number;
}

export interface Wire {
  readonly row: string;
  readonly spec: string;
  /** The variables that lead the row to a server. */
  readonly env: (origin: string) => Record<string, string>;
  /** Where the credentials stand in a request. */
  readonly credential: string;
  /** An answer in one piece. Without counts it reports no usage; with some of them, a partial one. */
  readonly whole: (text: string, counts?: Counts) => unknown;
  /** An answer that calls the function `look` with no arguments. */
  readonly toolCall: (counts: Counts) => unknown;
  /** An answer in pieces, as server-sent events: the beginning, one for each text, the end. */
  readonly pieces: (texts: readonly string[], counts?: Counts) => readonly string[];
  /** The body of a refusal. */
  readonly error: (code: string, message: string) => unknown;
  /** An answer that the provider's rules on content ended. */
  readonly filtered: (counts: Counts) => unknown;
  /** The part of an answer that says that it ended for lack of room. */
  readonly cutShort: (text: string, counts: Counts) => unknown;
}

export const KEY = 'key-0123456789-secret';

const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

const given = (fields: Record<string, number | undefined>): Record<string, number> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
    string,
    number
  >;

const responsesUsage = ({ input, cached, output }: Counts) => ({
  ...given({ input_tokens: input, output_tokens: output }),
  ...(cached === undefined ? {} : { input_tokens_details: { cached_tokens: cached } }),
});

const response = (output: unknown[], counts?: Counts, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'gpt-5-mini',
  error: null,
  incomplete_details: null,
  output,
  ...(counts ? { usage: responsesUsage(counts) } : {}),
  ...more,
});

const outputText = (text: string) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const openai: Wire = {
  row: 'openai',
  spec: 'openai:gpt-5-mini',
  env: (origin) => ({
    FREEHOLD_MODEL_OPENAI_API_KEY: KEY,
    FREEHOLD_MODEL_OPENAI_BASE_URL: `${origin}/v1`,
  }),
  credential: 'authorization',
  whole: (text, counts) => response([outputText(text)], counts),
  toolCall: (counts) =>
    response(
      [
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'call_1',
          name: 'look',
          arguments: '{}',
          status: 'completed',
        },
      ],
      counts,
    ),
  pieces: (texts, counts) => [
    event({ type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'gpt-5-mini' } }) +
      event({
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', id: 'msg_1' },
      }),
    ...texts.map((delta) =>
      event({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta }),
    ),
    event({
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'message', id: 'msg_1' },
    }) + event({ type: 'response.completed', response: response([], counts) }),
  ],
  error: (code, message) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
  filtered: (counts) =>
    response([outputText('I')], counts, {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    }),
  cutShort: (text, counts) =>
    response([outputText(text)], counts, {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    }),
};

const chatUsage = ({ input, cached, output }: Counts) => ({
  ...given({ prompt_tokens: input, completion_tokens: output }),
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
});

const completion = (message: object, finish: string, counts?: Counts) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'local',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  ...(counts ? { usage: chatUsage(counts) } : {}),
});

const chatChunk = (choices: unknown[], more: object = {}) =>
  event({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'local', choices, ...more });

const openaiCompatible: Wire = {
  row: 'openai-compatible',
  spec: 'openai-compatible:hf.co/org/model:Q4',
  env: (origin) => ({
    FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: `${origin}/v1`,
    FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY: KEY,
  }),
  credential: 'authorization',
  whole: (text, counts) => completion({ content: text }, 'stop', counts),
  toolCall: (counts) =>
    completion(
      {
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      'tool_calls',
      counts,
    ),
  pieces: (texts, counts) => [
    chatChunk([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }]),
    ...texts.map((content) => chatChunk([{ index: 0, delta: { content }, finish_reason: null }])),
    chatChunk([{ index: 0, delta: {}, finish_reason: 'stop' }]) +
      (counts ? chatChunk([], { usage: chatUsage(counts) }) : '') +
      event('[DONE]'),
  ],
  error: (code, message) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
  filtered: (counts) => completion({ content: 'I' }, 'content_filter', counts),
  cutShort: (text, counts) => completion({ content: text }, 'length', counts),
};

/** Anthropic counts what came from a cache beside the input. */
const anthropicUsage = ({ input, cached = 0, output }: Counts) => ({
  ...given({ input_tokens: input === undefined ? undefined : input - cached, output_tokens: output }),
  ...(cached > 0 ? { cache_read_input_tokens: cached } : {}),
});

const message = (content: unknown[], stopReason: string, counts?: Counts) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  model: 'claude-sonnet-5-5',
  content,
  stop_reason: stopReason,
  stop_sequence: null,
  ...(counts ? { usage: anthropicUsage(counts) } : {}),
});

const anthropicEvent = (type: string, data: object = {}) => event({ type, ...data }, type);

const anthropic: Wire = {
  row: 'anthropic',
  spec: 'anthropic:claude-sonnet-5-5',
  env: (origin) => ({
    FREEHOLD_MODEL_ANTHROPIC_API_KEY: KEY,
    FREEHOLD_MODEL_ANTHROPIC_BASE_URL: `${origin}/v1`,
  }),
  credential: 'x-api-key',
  whole: (text, counts) => message([{ type: 'text', text }], 'end_turn', counts),
  toolCall: (counts) =>
    message([{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }], 'tool_use', counts),
  pieces: (texts, counts) => [
    anthropicEvent('message_start', {
      message: {
        ...message([], 'end_turn', counts && { ...counts, output: 1 }),
        stop_reason: null,
        ...(counts ? {} : { usage: {} }),
      },
    }) + anthropicEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...texts.map((text) =>
      anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    anthropicEvent('content_block_stop', { index: 0 }) +
      anthropicEvent('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: given({ output_tokens: counts?.output }),
      }) +
      anthropicEvent('message_stop'),
  ],
  error: (type, text) => ({ type: 'error', error: { type, message: text } }),
  filtered: (counts) => message([{ type: 'text', text: 'I' }], 'refusal', counts),
  cutShort: (text, counts) => message([{ type: 'text', text }], 'max_tokens', counts),
};

const googleUsage = ({ input, cached, output }: Counts) =>
  given({ promptTokenCount: input, cachedContentTokenCount: cached, candidatesTokenCount: output });

const generated = (parts: unknown[], finishReason: string | undefined, counts?: Counts) => ({
  candidates: [
    { content: { parts, role: 'model' }, index: 0, ...(finishReason === undefined ? {} : { finishReason }) },
  ],
  ...(counts ? { usageMetadata: googleUsage(counts) } : {}),
});

const google: Wire = {
  row: 'google',
  spec: 'google:gemini-2.5-flash',
  env: (origin) => ({
    FREEHOLD_MODEL_GOOGLE_API_KEY: KEY,
    FREEHOLD_MODEL_GOOGLE_BASE_URL: `${origin}/v1beta`,
  }),
  credential: 'x-goog-api-key',
  whole: (text, counts) => generated([{ text }], 'STOP', counts),
  toolCall: (counts) => generated([{ functionCall: { name: 'look', args: {} } }], 'STOP', counts),
  pieces: (texts, counts) => [
    ...texts.map((text, i) =>
      event(generated([{ text }], undefined, counts && { ...counts, output: i + 1 })),
    ),
    event(generated([{ text: '' }], 'STOP', counts)),
  ],
  error: (status, text) => ({ error: { code: 400, message: text, status } }),
  filtered: (counts) => generated([{ text: 'I' }], 'SAFETY', counts),
  cutShort: (text, counts) => generated([{ text }], 'MAX_TOKENS', counts),
};

export const WIRES: readonly Wire[] = [openai, openaiCompatible, anthropic, google];
