#!/usr/bin/env python3
"""Exports real architectures with random weights to ONNX, for tests of the reader.

Encoder, decoder, encoder-decoder, vision and speech models of transformers, two layers each, by both exporters
of torch. Needs torch, transformers, onnxscript and onnx; without them it says so and does nothing.

    scripts/export-onnx-models.py FOLDER [NAME ...]
"""
import argparse
import os
import sys
import time
import warnings


def text_inputs(torch, rows=2, columns=16, top=1000):
    return {"input_ids": torch.randint(0, top, (rows, columns)),
            "attention_mask": torch.ones(rows, columns, dtype=torch.int64)}


def two_sided_inputs(torch):
    out = text_inputs(torch)
    out["decoder_input_ids"] = torch.randint(0, 1000, (2, 9))
    return out


SEQUENCE = {"input_ids": ("batch", "sequence"), "attention_mask": ("batch", "sequence")}
TWO_SIDED = dict(SEQUENCE, decoder_input_ids=("batch", "target"))
PICTURE = {"pixel_values": ("batch",)}
SOUND = {"input_values": ("batch", "samples")}
SPECTRUM = {"input_features": ("batch",), "decoder_input_ids": ("batch", "target")}

# Name: configuration class, its arguments, model class, inputs, names of leading dimensions that vary.
MODELS = {
    "bert": ("BertConfig", {"num_hidden_layers": 2}, "BertModel", text_inputs, SEQUENCE),
    "distilbert": ("DistilBertConfig", {"n_layers": 2}, "DistilBertForSequenceClassification", text_inputs, SEQUENCE),
    "deberta": ("DebertaV2Config", {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
                                    "intermediate_size": 512, "relative_attention": True,
                                    "pos_att_type": ["p2c", "c2p"]},
                "DebertaV2Model", text_inputs, SEQUENCE),
    "gpt2": ("GPT2Config", {"n_layer": 2}, "GPT2LMHeadModel", text_inputs, SEQUENCE),
    "llama": ("LlamaConfig", {"num_hidden_layers": 2, "hidden_size": 512, "intermediate_size": 1024,
                              "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000},
              "LlamaForCausalLM", text_inputs, SEQUENCE),
    "mixtral": ("MixtralConfig", {"num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
                                  "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000,
                                  "num_local_experts": 4},
                "MixtralForCausalLM", text_inputs, SEQUENCE),
    "t5": ("T5Config", {"num_layers": 2, "num_decoder_layers": 2, "vocab_size": 1000},
           "T5ForConditionalGeneration", two_sided_inputs, TWO_SIDED),
    "bart": ("BartConfig", {"encoder_layers": 2, "decoder_layers": 2, "vocab_size": 1000},
             "BartForConditionalGeneration", two_sided_inputs, TWO_SIDED),
    "vit": ("ViTConfig", {"num_hidden_layers": 2}, "ViTModel",
            lambda torch: {"pixel_values": torch.randn(2, 3, 224, 224)}, PICTURE),
    "swin": ("SwinConfig", {"depths": [1, 2], "num_heads": [3, 6]}, "SwinModel",
             lambda torch: {"pixel_values": torch.randn(2, 3, 224, 224)}, PICTURE),
    "resnet": ("ResNetConfig", {"depths": [1, 1, 1, 1]}, "ResNetForImageClassification",
               lambda torch: {"pixel_values": torch.randn(2, 3, 224, 224)}, PICTURE),
    "detr": ("DetrConfig", {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
                            "encoder_layers": 2, "decoder_layers": 2, "backbone_config": "ResNetConfig"},
             "DetrForObjectDetection", lambda torch: {"pixel_values": torch.randn(2, 3, 224, 224)}, PICTURE),
    "wav2vec2": ("Wav2Vec2Config", {"num_hidden_layers": 2}, "Wav2Vec2ForCTC",
                 lambda torch: {"input_values": torch.randn(2, 16000)}, SOUND),
    "whisper": ("WhisperConfig", {"encoder_layers": 2, "decoder_layers": 2, "vocab_size": 1000,
                                  "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
                                  "decoder_start_token_id": 1},
                "WhisperForConditionalGeneration",
                lambda torch: {"input_features": torch.randn(2, 80, 3000),
                               "decoder_input_ids": torch.randint(0, 1000, (2, 9))}, SPECTRUM),
}


def export(torch, transformers, name, dynamo, path):
    config_class, arguments, model_class, inputs_of, varying = MODELS[name]
    arguments = dict(arguments)
    if isinstance(arguments.get("backbone_config"), str):
        arguments["backbone_config"] = transformers.ResNetConfig(out_features=["stage4"])
    config = getattr(transformers, config_class)(**arguments)
    config.use_cache = False
    config.return_dict = True
    torch.manual_seed(0)
    model = getattr(transformers, model_class)(config).eval()
    names = list(inputs_of(torch))

    class FirstOutput(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *values):
            return self.model(**dict(zip(names, values)))[0]

    inputs = inputs_of(torch)
    values = tuple(inputs.values())
    if dynamo:
        dims = {}
        shapes = []
        for key in names:
            shapes.append({axis: dims.setdefault(symbol, torch.export.Dim.DYNAMIC)
                           for axis, symbol in enumerate(varying.get(key, ()))})
        torch.onnx.export(FirstOutput(), values, path, dynamo=True, dynamic_shapes=(tuple(shapes),),
                          input_names=names, output_names=["output"], external_data=False, verbose=False)
    else:
        axes = {key: dict(enumerate(symbols)) for key, symbols in varying.items()}
        torch.onnx.export(FirstOutput(), values, path, dynamo=False, dynamic_axes=axes, input_names=names,
                          output_names=["output"], opset_version=17, verbose=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODELS)}; all without")
    parser.add_argument("--exporter", choices=["dynamo", "script"], action="append", help="both without")
    options = parser.parse_intermixed_args()
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"skipped: {error}; pip install torch transformers onnxscript onnx")
        return 0
    warnings.filterwarnings("ignore")
    os.makedirs(options.folder, exist_ok=True)
    failed = []
    for name in options.names or MODELS:
        for exporter in options.exporter or ["script", "dynamo"]:
            path = os.path.join(options.folder, f"{name}-{exporter}.onnx")
            begin = time.time()
            try:
                export(torch, transformers, name, exporter == "dynamo", path)
                print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB, {time.time() - begin:.1f} s", flush=True)
            except Exception as error:  # an exporter's failure is a line of the report, not the end of it
                lines = (str(error) or type(error).__name__).strip().splitlines()
                failed.append(f"{name} by {exporter}: {lines[0][:200]}")
                if os.path.exists(path):
                    os.remove(path)
    for line in failed:
        print(f"failed: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
