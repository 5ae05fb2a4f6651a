/** Having a summary written: its text as it comes, how it ended, and a way to stop it. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { LanguageTag } from '../../../src/lib/languages.ts';
import type { SummaryMessage } from '../../../src/summaries/schema.ts';
import { ApiError, apiErrorOf, postForEvents } from './api.ts';
import { toApiError } from './use-load.ts';

export interface Summary {
  /** `cut`: the model stopped before it was done; `stopped`: the reader did. */
  readonly state: 'none' | 'writing' | 'whole' | 'cut' | 'stopped' | 'failed';
  readonly text: string;
  readonly language: LanguageTag | null;
  readonly error: ApiError | null;
}

const NONE: Summary = { state: 'none', text: '', language: null, error: null };

/** @param onEnd told when one is over that the reader did not stop. */
export function useSummary(order: string, onEnd: (state: Summary['state']) => void) {
  const [summary, setSummary] = useState(NONE);
  const running = useRef<AbortController | null>(null);
  const told = useRef(onEnd);
  told.current = onEnd;
  // Leaving the page stops the summary.
  useEffect(() => () => running.current?.abort(), []);

  const write = useCallback(
    async ({ language, notes }: { readonly language: LanguageTag; readonly notes: boolean }) => {
      if (running.current) return;
      const controller = new AbortController();
      running.current = controller;
      setSummary({ ...NONE, state: 'writing', language });
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
      const end: { state: Summary['state']; error: ApiError | null } = { state: 'failed', error: null };
      try {
        await postForEvents<SummaryMessage>(
          `/api/orders/${order}/summary`,
          { language, notes, timeZone },
          {
            signal: controller.signal,
            onMessage: (message) => {
              if (message.type === 'text')
                setSummary((before) => ({ ...before, text: before.text + message.text }));
              else if (message.type === 'end') end.state = message.finish === 'stop' ? 'whole' : 'cut';
              else end.error = apiErrorOf(message.problem.status, message.problem);
            },
          },
        );
        if (end.state === 'failed') end.error ??= brokenOff();
      } catch (failure) {
        if (controller.signal.aborted) end.state = 'stopped';
        else end.error = toApiError(failure);
      }
      running.current = null;
      setSummary((before) =>
        end.state === 'whole' && before.text.trim() === '' ? wordless(before) : { ...before, ...end },
      );
      if (end.state !== 'stopped') told.current(end.state);
    },
    [order],
  );
  const stop = useCallback(() => running.current?.abort(), []);
  return { summary, write, stop };
}

function wordless(before: Summary): Summary {
  const detail = 'The language model answered without a word. Try again.';
  return { ...before, state: 'failed', error: new ApiError(502, { code: 'runtime_fault', detail }) };
}

function brokenOff(): ApiError {
  return new ApiError(0, {
    code: 'unreachable',
    detail: 'The connection broke before the summary was whole. Try again.',
  });
}
