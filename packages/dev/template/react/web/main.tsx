/** The page: notes, for those who are signed in. It uses the same API as every other client. */
import { type FormEvent, StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

const TITLE = 'Acme Notes';

interface Note {
  readonly id: string;
  readonly text: string;
  readonly completedAt: string | null;
}

/** @throws Error with the sentence of the refusal. */
async function api<T>(path: string, body?: unknown): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, body === undefined ? {} : init);
  const answer = await response.json();
  if (response.status === 401 && answer.loginUrl !== undefined) location.assign(answer.loginUrl);
  if (!response.ok) throw new Error(answer.detail);
  return answer as T;
}

function Notes() {
  const [notes, setNotes] = useState<readonly Note[]>();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');

  const attempt = (work: () => Promise<void>) =>
    work().then(
      () => setProblem(''),
      (error: Error) => setProblem(error.message),
    );
  const load = async () => setNotes((await api<{ items: Note[] }>('/api/notes')).items);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens.
  useEffect(() => void attempt(load), []);

  const add = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => {
      await api('/api/notes', { text });
      setText('');
      await load();
    });
  };
  const complete = (id: string) =>
    void attempt(async () => {
      await api(`/api/notes/${id}/complete`, {});
      await load();
    });

  return (
    <main>
      <nav aria-label="Supplied pages">
        <a href="/team">Team</a> <a href="/account">Your account</a>
      </nav>
      <h1>{TITLE}</h1>
      <form onSubmit={add}>
        <input
          aria-label="New note"
          value={text}
          onChange={(event) => setText(event.target.value)}
          required
        />
        <button type="submit">Write</button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      {notes?.length === 0 && <p>No notes yet. Write the first one.</p>}
      <ul>
        {notes?.map((note) => (
          <li key={note.id}>
            {note.completedAt === null ? note.text : <s>{note.text}</s>}{' '}
            {note.completedAt === null && (
              <button type="button" onClick={() => complete(note.id)}>
                Done
              </button>
            )}
          </li>
        ))}
      </ul>
    </main>
  );
}

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <Notes />
    </StrictMode>,
  );
