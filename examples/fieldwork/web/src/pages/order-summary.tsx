/** A summary of an order for its customer, written by a language model in the customer's language. */
import { type FormEvent, useRef, useState } from 'react';
import { LANGUAGE_TAGS, LANGUAGES, type LanguageTag } from '../../../src/lib/languages.ts';
import type { SummaryOffer } from '../../../src/summaries/schema.ts';
import { useAnnounce } from '../components/announce.tsx';
import { Button, Card, ErrorNote, LoadError, Skeleton } from '../components/basics.tsx';
import { CheckField, SelectField } from '../components/fields.tsx';
import { get } from '../lib/api.ts';
import { copyText } from '../lib/copy-text.ts';
import { useLoad } from '../lib/use-load.ts';
import { type Summary, useSummary } from '../lib/use-summary.ts';

export function OrderSummary({ order }: { order: string }) {
  const offer = useLoad<SummaryOffer>(`summary ${order}`, (signal) =>
    get(`/api/orders/${order}/summary`, { signal }),
  );
  return (
    <Card title="Summary for the customer">
      {offer.error ? (
        <LoadError error={offer.error} retry={offer.reload} />
      ) : !offer.data ? (
        <Skeleton lines={2} label="Loading" />
      ) : offer.data.available ? (
        <Writer order={order} customerLanguage={offer.data.language} />
      ) : (
        <p className="quiet">{offer.data.detail}</p>
      )}
    </Card>
  );
}

const SAID: Readonly<Partial<Record<Summary['state'], string>>> = {
  whole: 'The summary is written.',
  cut: 'The summary is cut off.',
};

function Writer({ order, customerLanguage }: { order: string; customerLanguage: LanguageTag }) {
  const announce = useAnnounce();
  const [chosen, setChosen] = useState<LanguageTag | null>(null);
  const [notes, setNotes] = useState(false);
  const { summary, write, stop } = useSummary(order, (state) => {
    const said = SAID[state];
    if (said !== undefined) announce(said);
  });
  const language = chosen ?? customerLanguage;
  const writing = summary.state === 'writing';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (writing) stop();
    else void write({ language, notes });
  };
  return (
    <>
      <form className="summary-form" onSubmit={submit}>
        <SelectField
          label="Language"
          value={language}
          onChange={(event) => setChosen(event.target.value as LanguageTag)}
        >
          {LANGUAGE_TAGS.map((tag) => (
            <option key={tag} value={tag} lang={tag}>
              {LANGUAGES[tag][1]}
            </option>
          ))}
        </SelectField>
        {/* One button for both, so that the focus stays where it is. */}
        <Button type="submit" look={writing ? 'plain' : 'primary'} icon={writing ? 'cross' : 'pencil'}>
          {writing ? 'Stop' : summary.state === 'none' ? 'Write' : 'Write again'}
        </Button>
        <CheckField
          label="Use the team’s notes"
          checked={notes}
          onChange={(event) => setNotes(event.target.checked)}
        />
        <p className="hint">
          A language model outside of Fieldwork reads the title, the description, the dates and, if you say
          so, the notes. How the customer is called and reached is left out.
        </p>
      </form>
      {summary.state !== 'none' && <Written summary={summary} />}
    </>
  );
}

function Written({ summary: { state, text, language, error } }: { summary: Summary }) {
  const announce = useAnnounce();
  const shown = useRef<HTMLParagraphElement>(null);
  const copy = async () => {
    const done = await copyText(text.trim(), shown.current);
    announce(
      done === 'copied' ? 'The summary is copied.' : 'The summary is selected: copy it with your keyboard.',
    );
  };
  return (
    <section className="summary" aria-label="Written summary" aria-busy={state === 'writing'}>
      {(text !== '' || state === 'writing') && (
        <p ref={shown} className="prose summary-text" lang={language ?? undefined} dir="auto">
          {text || 'Writing …'}
        </p>
      )}
      {state === 'cut' && (
        <p className="access">
          This was cut off: the model stopped before it was done. Write it again, or end it yourself.
        </p>
      )}
      {state === 'stopped' && <p className="quiet">You stopped it: this is not the whole summary.</p>}
      {state === 'failed' && text !== '' && <p className="quiet">This is not the whole summary.</p>}
      <ErrorNote error={error} />
      {(state === 'whole' || state === 'cut') && (
        <div className="summary-foot">
          <Button icon="clipboard" onClick={() => void copy()}>
            Copy
          </Button>
          <span className="hint">Read it before you send it: a model can be wrong.</span>
        </div>
      )}
    </section>
  );
}
