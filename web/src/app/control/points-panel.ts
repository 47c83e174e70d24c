import { ChangeDetectionStrategy, Component, computed, DestroyRef, effect, inject, output, signal, untracked } from '@angular/core';

import { GenerationList } from '../generations/generation-list';
import { Journal } from '../status/journal';
import { ago } from '../status/durations';
import { SystemStatus } from '../status/system-status';
import { OperatorKey } from './operator-key';
import { ApiError, PointsmanApi, type Plan, type Topic, type Verdict, type Wish } from './pointsman-api';
import { TopicPicker } from './topic-picker';
import { VerdictList } from './verdict-list';
import { Verdicts } from './verdicts';

const JOINS = ['left', 'inner', 'natural', 'right', 'full', 'asof'] as const;
const ASK_AGAIN_MS = 2_000;
const GOOD = new Set(['applied', 'unchanged']);

/** Sets the points: topics and join type, the plan first, then the message, then what becomes of it. */
@Component({
  selector: 'pm-points-panel',
  imports: [Journal, TopicPicker, Verdicts],
  templateUrl: './points-panel.html',
  styleUrl: './points-panel.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class PointsPanel {
  readonly closed = output();

  private readonly life = inject(DestroyRef);
  private readonly api = inject(PointsmanApi);
  private readonly verdicts = inject(VerdictList);
  protected readonly status = inject(SystemStatus);
  protected readonly generations = inject(GenerationList);
  protected readonly key = inject(OperatorKey);

  protected readonly joins = JOINS;
  protected readonly topics = signal<readonly Topic[]>([]);
  protected readonly topicsProblem = signal('');
  private readonly edits = signal<Readonly<Record<string, string>>>({});
  private readonly joinEdit = signal<string | null>(null);
  protected readonly plan = signal<Plan | null>(null);
  protected readonly verdict = signal<Verdict | null>(null);
  protected readonly waitingFor = signal<string | null>(null);
  protected readonly problem = signal('');
  protected readonly busy = signal<'plan' | 'send' | 'rollback' | null>(null);
  protected readonly time = ago;

  protected readonly wanted = computed(() =>
    (this.status.row()?.topics ?? []).map(({ source, topic }) => ({ source, topic: this.edits()[source] ?? topic })),
  );
  protected readonly join = computed(() => this.joinEdit() ?? this.status.row()?.joinType ?? 'left');
  protected readonly changed = computed(() => {
    const row = this.status.row();
    const topics = this.wanted().some(({ source, topic }) => row?.topics.find((t) => t.source === source)?.topic !== topic.trim());
    return topics || this.join() !== row?.joinType;
  });
  /** Changes when the wish does, and not with every heartbeat. */
  private readonly wishText = computed(() => JSON.stringify(this.wish()));
  protected readonly building = computed(() => this.generations.building());
  private asking: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    void this.loadTopics();
    this.life.onDestroy(() => clearTimeout(this.asking));
    effect(() => {
      this.wishText();
      untracked(() => this.plan.set(null));
    });
    effect(() => {
      const request = this.waitingFor();
      const answer = request === null ? null : this.verdicts.of(request);
      if (answer !== null) {
        untracked(() => this.answered(answer));
      }
    });
  }

  protected edit(source: string, topic: string): void {
    this.edits.update((edits) => ({ ...edits, [source]: topic }));
  }

  protected chooseJoin(join: string): void {
    this.joinEdit.set(join);
  }

  protected undo(): void {
    this.edits.set({});
    this.joinEdit.set(null);
    this.verdict.set(null);
    this.problem.set('');
  }

  /** Until they are known: a broker that is slow or away answers later. */
  private async loadTopics(): Promise<void> {
    try {
      this.topics.set(await this.api.topics());
      this.topicsProblem.set('');
    } catch (error) {
      if (this.life.destroyed) {
        return;
      }
      const reason = error instanceof ApiError ? error.message : 'the web server does not answer';
      this.topicsProblem.set(`The broker's topics cannot be listed: ${reason}`);
      this.asking = setTimeout(() => void this.loadTopics(), ASK_AGAIN_MS);
    }
  }

  protected seePlan(): Promise<void> {
    return this.during('plan', async () => {
      const asked = this.wishText();
      const plan = await this.api.plan(this.wish());
      this.plan.set(asked === this.wishText() ? plan : null);
    });
  }

  protected send(): Promise<void> {
    return this.during('send', () => this.control(this.wish()));
  }

  protected rollBack(): Promise<void> {
    return this.during('rollback', () => this.control({ rollback: true }));
  }

  private async control(wish: Wish): Promise<void> {
    const answer = await this.api.control(wish);
    if ('accepted' in answer) {
      this.waitingFor.set(answer.requestId);
      return;
    }
    this.answered(answer);
  }

  private answered(answer: Verdict): void {
    this.waitingFor.set(null);
    this.verdict.set(answer);
    if (GOOD.has(answer.verdict)) {
      this.edits.set({});
      this.joinEdit.set(null);
    }
  }

  private async during(what: 'plan' | 'send' | 'rollback', action: () => Promise<void>): Promise<void> {
    this.busy.set(what);
    this.problem.set('');
    this.verdict.set(null);
    this.waitingFor.set(null);
    try {
      await action();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        this.key.set('');
      }
      this.problem.set(sentence(error));
    } finally {
      this.busy.set(null);
    }
  }

  protected good(outcome: string): boolean {
    return GOOD.has(outcome);
  }

  private wish(): Wish {
    const topics = Object.fromEntries(this.wanted().map(({ source, topic }) => [`${source}Topic`, topic.trim()]));
    return { ...topics, joinType: this.join() };
  }
}

function sentence(error: unknown): string {
  if (error instanceof ApiError) {
    return error.message;
  }
  return 'the web server does not answer; try again when it does';
}
