/** A model prepared for one call: its library is loaded, and its requests are counted. */
import type { generateText } from 'ai';
import type { Call } from './call.ts';
import type { HostedModel } from './factories.ts';
import type { Meter } from './meter.ts';
import type { ModelRequest } from './model-host.ts';
import type { ResolvedModel } from './resolve.ts';
import { bindTools } from './tools.ts';

type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>;
type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

interface Parts {
  readonly resolved: ResolvedModel;
  readonly request: ModelRequest;
  readonly meter: Meter;
  readonly call: Call;
  readonly retriesMax: number;
  readonly aiBinding: unknown;
  readonly fetch: Fetch;
}

const STEPS = 8;

/** Sends no request before one of the two is called. */
export async function openModel(parts: Parts) {
  const { resolved, request, meter, call } = parts;
  // Loaded here, so that an application that calls no model loads no library.
  const sdk = await import('ai');
  const settings = {
    model: sdk.wrapLanguageModel({ model: await loadModel(parts), middleware: meter.middleware }),
    prompt: request.prompt,
    maxOutputTokens: request.maxOutputTokens,
    maxRetries: parts.retriesMax,
    abortSignal: call.signal,
    telemetry: { isEnabled: false },
    ...(request.system ? { instructions: request.system } : {}),
    ...(resolved.factory.providerOptions
      ? { providerOptions: resolved.factory.providerOptions as ProviderOptions }
      : {}),
    ...(request.tools
      ? {
          tools: bindTools(request.tools, { tool: sdk.tool, signal: call.signal, fail: call.fail }),
          stopWhen: sdk.isStepCount(request.stepsMax ?? STEPS),
        }
      : {}),
  };
  return {
    generate: () => sdk.generateText(settings),
    // The SDK prints errors to the console, prompts included, unless a listener takes them.
    stream: () => sdk.streamText({ ...settings, onError: () => undefined }).stream,
  };
}

function loadModel({ resolved, meter, aiBinding, fetch }: Parts): Promise<HostedModel> {
  const { model, factory, variable } = resolved;
  return factory.load({
    modelId: model.modelId,
    variable: (name) => {
      if (!factory.variables.some((each) => each.name === name))
        throw new TypeError(`the row ${model.provider} does not declare the variable ${name}`);
      return variable(name);
    },
    aiBinding,
    fetch: async (input, init) => {
      try {
        // A redirect would carry keys along: `fetch` drops only `Authorization`.
        const response = await fetch(input, { ...init, redirect: 'manual' });
        meter.hearStatus(response.status);
        return response;
      } catch (cause) {
        if (init?.signal?.aborted) throw cause;
        // The error that the SDK reads as a missing connection, on every platform.
        throw new TypeError('fetch failed', { cause });
      }
    },
  });
}
