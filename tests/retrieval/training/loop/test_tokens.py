"""Objectives on tokens: what the model reads, token for token, and each loss against the library's
own and against numbers by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import BertForMaskedLM, BertModel

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import new_selector
from retrieval.encoders.loading import load_model
from retrieval.training.loop.fit import Fitted
from retrieval.training.loop.pooling import pool
from retrieval.training.loop.terms import RetrieverSum, SelectorSum
from retrieval.training.loop.tokens import OF_DEV, Drawn, _drawn, _sampled, encoder_of
from retrieval.training.recipes.objectives import parse_objective
from retrieval.training.recipes.recipe import parse_recipe
from retrieval.vectors.types import WITHOUT_CLS
from tests.retrieval.training import tiny
from tests.retrieval.training.alone import fit_alone, setup
from tests.retrieval.training.killing import killed
from tests.retrieval.training.loop.test_fit import letters, plan

QUERIES = ["how do i bake bread", "boil a egg"]
PARTS = [["make a loaf", "flour of water"], ["ten minutes"]]
LABELS = torch.tensor([1.0, 0.0])
ELECTRA = {"binary": 1, "mlm": 1, "rtd": 50}


@pytest.fixture(scope="module")
def selector(bare: Path) -> Any:
    torch.manual_seed(3)
    return new_selector(str(bare), "cpu", max_length=32).eval()


def loss_of(selector: Any, objective: object) -> SelectorSum:
    torch.manual_seed(4)
    return SelectorSum(selector, parse_objective("selector", objective))


def features(selector: Any) -> dict[str, Any]:
    return dict(selector.preprocess(list(zip(QUERIES, PARTS, strict=True))))


def drawn(selector: Any, *, by: tuple[int, int] = OF_DEV) -> Drawn:
    return _drawn(features(selector), np.array(selector.tokenizer.all_special_ids), by)


def read(selector: Any, loss: SelectorSum, *, by: tuple[int, int]) -> list[str]:
    """The tokens that the model is given while it learns."""
    given: list[torch.Tensor] = []
    handle = selector.register_forward_pre_hook(lambda _, args: given.append(args[0]["input_ids"]))
    assert loss.tokens is not None
    loss.tokens.drawn_by = by
    selector.train()
    loss([QUERIES, PARTS], LABELS)
    selector.eval()
    handle.remove()
    texts = (selector.tokenizer.convert_ids_to_tokens(row) for row in given[0].tolist())
    return [" ".join(text).replace(" [PAD]", "") for text in texts]


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (
            "mlm",  # of the first row two tokens are chosen: the other one is read as it is
            [
                "[CLS] how do i bake bread [SEP] make a loaf [SEP] flour of [MASK] [SEP]",
                "[CLS] boil a egg [SEP] ten [MASK] [SEP]",
            ],
        ),
        (
            "rts",
            [
                "[CLS] how do i bake bread [SEP] it a loaf [SEP] flour of o [SEP]",
                "[CLS] boil a egg [SEP] ten how [SEP]",
            ],
        ),
    ],
)
def test_the_model_reads_these_tokens(
    selector: Any, objective: object, expected: list[str]
) -> None:
    assert read(selector, loss_of(selector, objective), by=(1, 2)) == expected


def test_15_percent_of_a_texts_tokens_are_changed_and_no_separator_or_padding(bare: Path) -> None:
    ids = torch.randint(5, 40, (200, 24))
    ids[:, 0], ids[:, 11], ids[:, 21] = 2, 3, 3
    mask = torch.ones_like(ids)
    mask[:, 22:] = 0
    found = _drawn({"input_ids": ids, "attention_mask": mask}, np.arange(5), (1, 0))
    assert found.chosen.sum(1).tolist() == [3] * 200  # of 19
    assert not found.chosen[:, [0, 11, 21, 22, 23]].any()
    assert found.chosen[:, 1:11].any(0).all()


def test_of_hidden_tokens_8_of_10_are_masked_and_1_is_replaced(selector: Any) -> None:
    loss = loss_of(selector, "mlm").tokens
    assert loss is not None
    ids = torch.randint(5, 40, (4_000, 40))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    chosen = _drawn(given, np.arange(5), OF_DEV).chosen
    loss.change(given, training=False)
    now, before = given["input_ids"][chosen], ids[chosen]
    masked = now == selector.tokenizer.mask_token_id
    assert masked.float().mean().item() == pytest.approx(0.8, abs=0.01)
    # Of those replaced, one in the size of the vocabulary by itself.
    replaced = ~masked & (now != before)
    assert replaced.float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert torch.equal(given["input_ids"][~chosen], ids[~chosen])
    assert len(now[replaced].unique()) > 40
    assert not np.isin(now[replaced].numpy(), [0, 1, 2, 3, 4]).any()


def test_a_draw_is_that_of_seed_epoch_and_row_whatever_stands_beside_it(selector: Any) -> None:
    both = drawn(selector, by=(1, 2))
    alone = {
        name: value[1:, :8] if isinstance(value, torch.Tensor) else value
        for name, value in features(selector).items()
    }
    special = np.array(selector.tokenizer.all_special_ids)
    assert torch.equal(_drawn(alone, special, (1, 2)).chosen[0], both.chosen[1, :8])
    others = [drawn(selector, by=by).dice[0, 0].item() for by in ((1, 3), (2, 2), (1, 2))]
    assert others[2] == both.dice[0, 0].item()
    assert len(set(others)) == 3


def test_dev_is_always_read_with_the_same_tokens(selector: Any) -> None:
    loss = loss_of(selector, ELECTRA)
    assert loss.tokens is not None
    before = loss([QUERIES, PARTS], LABELS).item()
    loss.tokens.drawn_by = (3, 7)
    assert loss([QUERIES, PARTS], LABELS).item() == before


def test_masked_tokens_are_named_as_berts_own_loss_has_it(selector: Any) -> None:
    loss = loss_of(selector, "mlm")
    found = loss([QUERIES, PARTS], LABELS).item()
    given = features(selector)
    labels = given["input_ids"].masked_fill(~drawn(selector).chosen, -100)
    assert loss.tokens is not None
    loss.tokens.change(given, training=False)
    whole = BertForMaskedLM(encoder_of(selector).config).eval()
    whole.load_state_dict(loss.tokens.head.whole.state_dict(), strict=False)  # its head
    whole.bert.load_state_dict(encoder_of(selector).state_dict(), strict=False)
    given.pop("modality")
    assert found == pytest.approx(whole(**given, labels=labels).loss.item(), abs=1e-5)


def test_the_head_is_tied_to_the_words_and_is_the_bases_own_where_it_has_one(
    selector: Any, tmp_path: Path
) -> None:
    loss = loss_of(selector, "mlm")
    assert loss.tokens is not None
    words = encoder_of(selector).get_input_embeddings().weight
    assert loss.tokens.head.whole.get_output_embeddings().weight is words
    whole = BertForMaskedLM(BertModel.from_pretrained(encoder_of(selector).name_or_path).config)
    whole.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    again = loss_of(new_selector(str(tmp_path), "cpu"), "mlm").tokens
    assert again is not None
    name = "cls.predictions.transform.dense.weight"
    assert torch.equal(again.head.whole.state_dict()[name], whole.state_dict()[name])


def test_swapped_tokens_are_told_apart_by_the_surprise_at_each(selector: Any) -> None:
    loss = loss_of(selector, "rts")
    found = loss([QUERIES, PARTS], LABELS).item()
    given = features(selector)
    before, real = given["input_ids"].clone(), given["attention_mask"].bool()
    assert loss.tokens is not None
    loss.tokens.change(given, training=False)
    given.pop("modality")
    states = encoder_of(selector)(**given)[0][real]
    changed = (given["input_ids"] != before)[real]
    first, last = loss.tokens.head[0], loss.tokens.head[2]
    inner = torch.nn.functional.gelu(states @ first.weight.T + first.bias)
    sure = (inner @ last.weight.T + last.bias).sigmoid().squeeze(1)
    by_hand = -torch.where(changed, sure, 1 - sure).log().mean().item()
    assert changed.sum() == drawn(selector).chosen.sum()
    assert found == pytest.approx(by_hand, abs=1e-5)


def test_a_generator_names_the_hidden_tokens_and_its_own_are_detected(selector: Any) -> None:
    loss = loss_of(selector, {"mlm": 1, "rtd": 1})
    assert loss.tokens is not None
    generator = loss.tokens.generator.eval()
    given = features(selector)
    given.pop("modality")
    some = drawn(selector)
    masked = some.ids.masked_fill(some.chosen, selector.tokenizer.mask_token_id)
    labels = some.ids.masked_fill(~some.chosen, -100)
    librarys = generator(**{**given, "input_ids": masked}, labels=labels)
    of_states = loss.tokens.change(given, training=False)
    sums = librarys.logits[some.chosen].softmax(-1).cumsum(-1)
    sampled = [int((row < one).sum()) for row, one in zip(sums, some.dice[:, 0], strict=True)]
    assert given["input_ids"][some.chosen].tolist() == sampled
    states = encoder_of(selector)(**given)[0]
    found = of_states(states)
    assert found["mlm"].item() == pytest.approx(librarys.loss.item(), abs=1e-5)
    real = given["attention_mask"].bool()
    sure = loss.tokens.head(states).squeeze(-1)[real].sigmoid()
    changed = (given["input_ids"] != some.ids)[real]
    by_hand = -torch.where(changed, sure, 1 - sure).log().mean().item()
    assert found["rtd"].item() == pytest.approx(by_hand, abs=1e-5)


def test_a_token_is_sampled_by_its_probability() -> None:
    logits = torch.tensor([[0.2, 0.3, 0.5]]).log().repeat(4, 1)
    dice = torch.tensor([0.1, 0.3, 0.6, 0.999])
    assert _sampled(logits, dice).tolist() == [0, 1, 2, 2]


def test_the_generator_is_a_third_as_wide_and_reads_the_models_words(tmp_path: Path) -> None:
    selector = new_selector(str(tiny.checkpoint(tmp_path / "base", heads=6, width=48)), "cpu")
    loss = loss_of(selector, ELECTRA)
    assert loss.tokens is not None
    config = loss.tokens.generator.config
    assert (config.hidden_size, config.num_attention_heads, config.num_hidden_layers) == (16, 2, 2)
    words = encoder_of(selector).get_input_embeddings()
    assert loss.tokens.generator.get_input_embeddings() is words
    assert loss.tokens.generator.get_output_embeddings().weight is words.weight


def test_all_terms_of_a_sum_are_of_one_reading(selector: Any) -> None:
    whole = loss_of(selector, {"binary": 2, "mlm": 3})([QUERIES, PARTS], LABELS).item()
    alone = loss_of(selector, "mlm")
    given = features(selector)
    assert alone.tokens is not None
    alone.tokens.change(given, training=False)
    scores = selector(given)["scores"].view(-1)
    own = torch.nn.functional.binary_cross_entropy_with_logits(scores, LABELS).item()
    named = alone([QUERIES, PARTS], LABELS).item()
    assert whole == pytest.approx(2 * own + 3 * named, abs=1e-4)


def test_a_retriever_names_tokens_of_each_of_its_texts(tiny_retriever: Path) -> None:
    model = load_model(str(tiny_retriever), "cpu")[0]
    texts = [["bake bread", "boil egg"], ["make a loaf", "ten minutes"]]

    def loss(objective: object, columns: list[list[str]]) -> float:
        torch.manual_seed(4)
        given = [model.preprocess(column) for column in columns]
        terms = parse_objective("retriever", objective)
        return float(RetrieverSum(model, terms)(given, None).item())

    each = [loss("mlm", [column]) for column in texts]
    assert loss("mlm", texts) == pytest.approx(sum(each) / 2, abs=1e-5)
    assert loss({"mnr": 1, "mlm": 1}, texts) > loss("mlm", texts)
    before = loss("rts", texts)
    pool(model, "tiny", WITHOUT_CLS)  # the head reads what the model makes of [CLS], as before
    assert loss("rts", texts) == pytest.approx(before, abs=1e-5)


def test_a_text_without_a_word_changes_nothing(selector: Any) -> None:
    loss = loss_of(selector, "mlm")
    assert loss([[""], [[""]]], LABELS[:1]).item() == 0


def test_a_base_without_a_mask_token_is_refused(bare: Path) -> None:
    selector = new_selector(str(bare), "cpu")
    selector.tokenizer.mask_token = None
    with pytest.raises(UserError, match=r"has no transformer with a mask token, which mlm needs"):
        loss_of(selector, "mlm")


@pytest.mark.parametrize("objective", ["mlm", "rts", ELECTRA], ids=["mlm", "rts", "rtd"])
def test_killed_it_goes_on_to_the_same_weights_those_of_its_heads_too(
    bare: Path, tmp_path: Path, objective: object
) -> None:
    recipe = parse_recipe(
        {"kind": "selector", "form": "QQA", "base": "tiny", "objective": objective}
    )

    def trained(folder: Path, **options: Any) -> Fitted:
        made = setup(recipe, bare)
        rows: tuple[Dataset, Dataset] = letters(96, seed=1), letters(32, seed=2)
        return fit_alone(made, *rows, plan(epochs=3), folder, **options)

    undisturbed = trained(tmp_path / "a")
    killed(lambda progress: trained(tmp_path / "b", progress=progress), after=7)
    steps: list[int] = []
    resumed = trained(tmp_path / "b", progress=steps.append)
    assert len(steps) == 3  # of the last epoch alone
    assert resumed.dev_losses == undisturbed.dev_losses
    assert undisturbed.dev_losses[-1] < undisturbed.dev_losses[0]
    for name, weights in undisturbed.model.state_dict().items():
        assert torch.equal(weights, resumed.model.state_dict()[name])
